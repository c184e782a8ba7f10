"""What LocalStack community leaves out of CloudFormation."""
